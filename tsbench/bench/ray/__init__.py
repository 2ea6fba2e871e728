"""Runs on a Ray cluster: joining it, handing runs out, doing them on its nodes."""
