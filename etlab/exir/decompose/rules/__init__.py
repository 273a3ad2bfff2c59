"""Direct rules, one file a family, found by their presence (see `etlab.exir.decompose.plan.rule`)."""
