"""Packet captures of any origin.

capture  what each TCP connection and conversation over UDP in one did
words    what its flows are called
series   how that went over time; figures, pages and xplot files of it
"""

from cclab.captures.capture import Capture, Problem, analyze

__all__ = ["Capture", "Problem", "analyze"]
