"""Nouns and pure rules: frozen records, enums, decay, triage, liveness. No I/O and no clock."""
