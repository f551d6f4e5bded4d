"""What scripts/verify_plan checks plan files with: written from docs/formats alone, sharing nothing with the planner."""
