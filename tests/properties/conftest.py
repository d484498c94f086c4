"""How hypothesis searches: the same examples in every run, without a clock."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "committee",
    derandomize=True,
    deadline=None,  # the first example may compile a kernel
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("committee")
