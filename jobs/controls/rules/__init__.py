"""The rules, by the name that the command line has for them."""

from collections.abc import Mapping

from jobs.controls.base import Rule
from jobs.controls.rules import aiact, cfr11, gdpr, hipaa, sec17a4, sp800_53

RULES: Mapping[str, Rule] = {
    "21cfr11": cfr11.RULE,
    "hipaa": hipaa.RULE,
    "sec17a-4": sec17a4.RULE,
    "gdpr": gdpr.RULE,
    "eu-ai-act": aiact.RULE,
    "sp800-53": sp800_53.RULE,
}
