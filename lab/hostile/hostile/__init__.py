"""Attacks on the proxy, over loopback: see `lab/hostile/run`."""
