"""Direct rules, one file a family, found by presence (see `etlab.exir.decompose.plan.rule`)."""
