"""OpenTelemetry: scores and decisions on the spans that a framework already records.

pip install 'bylaw[otel]'

from bylaw.telemetry import DecisionTelemetry

guard = Guard(procedure, listener=DecisionTelemetry())
"""

from bylaw.telemetry.decision_telemetry import DecisionTelemetry, record_report

__all__ = ["DecisionTelemetry", "record_report"]
