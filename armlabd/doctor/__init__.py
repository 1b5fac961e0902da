"""doctor: looks at adapter, servos, files and board, and says what is wrong and what to do first.

It reads only. It never moves the arm and never writes to a servo, and opens the port only when no
motion core has it.
"""
