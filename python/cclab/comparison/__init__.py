"""Comparing two sets of results: stores, backends or variants.

sides       what the two are, and their runs
results     points and flows matched; the comparison and its document
changes     in which keys the two differ
difference  differences over runs and their intervals
metric      what can be compared
verdict     the outcome in words
doubts      where it may not show what it seems to show
"""
