"""Screens: approvals."""
