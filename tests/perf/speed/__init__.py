"""What the console's speed table is made with: a terminal that keeps time, programs to compare, measures, budgets."""
