"""One run: its spec, plan, execution, record and store."""
