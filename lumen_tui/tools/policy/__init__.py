"""What a call may do: rules, constraints, verdicts, redaction, fences."""
