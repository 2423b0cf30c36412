"""Contact candidates, barrier, friction and the step filter."""
