"""The bus of Feetech servos: frames, control table, port, and the master's transactions.

Nothing is imported here, so that whoever needs only bytes pays for nothing else.
"""
