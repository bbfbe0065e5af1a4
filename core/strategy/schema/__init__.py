"""What a skill promises: inputs and outputs checked, schemas read, derived, compared, drafted (STRATEGY S46 to S57)."""
