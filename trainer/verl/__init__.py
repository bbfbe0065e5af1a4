"""Handing a run over to verl on Ray, for those who outgrow one machine (K20). verl itself is imported by one module."""
