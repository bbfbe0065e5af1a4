"""The state directory: layout, documents, snapshots, rollback, approvals, ledger, watching."""
