"""Generated texts, facts and tasks that the cases of evals are built from."""
