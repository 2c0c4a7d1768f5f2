"""Numbers of runs by expressions that suites and published studies write.

states       the inner state of a flow's variant
names        what a flow of a run measured, by the names that expressions call it
expressions  what expressions can call, and what they come to
points       sweep points by the values of their keys
"""
