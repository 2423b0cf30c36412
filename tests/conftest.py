"""What holds for all tests."""

import signal

# a shell that starts the tests in the background has them ignore Ctrl-C, and their own children with them
signal.signal(signal.SIGINT, signal.default_int_handler)
