"""The benchmark's tables as the paper prints them, and what its text derives from them."""

from __future__ import annotations

from bylaw.enforcement.severity import Setting

BASELINE: Setting = "baseline"
WARN: Setting = "block-and-warn"
SOFT: Setting = "soft-block"
SETTINGS = (BASELINE, WARN, SOFT)

COMPLIANCE = {
    "Gemma-4-26B-A4B": (0.617, 0.717, 0.623),
    "Gemma-4-31B": (0.789, 0.961, 0.877),
    "Qwen3-Next-80B-A3B": (0.874, 0.829, 0.799),
    "DeepSeek-V4-Flash": (0.596, 0.867, 0.530),
    "Qwen3.5-397B-A17B": (0.909, 0.896, 0.937),
    "DeepSeek-V4-Pro": (0.735, 0.823, 0.739),
    "Kimi-K2.6": (0.831, 0.891, 0.724),
}
"""Table 1, by setting."""

BEST_AND_WORST = {
    "Gemma-4-26B-A4B": (WARN, BASELINE),
    "Gemma-4-31B": (WARN, BASELINE),
    "Qwen3-Next-80B-A3B": (BASELINE, SOFT),
    "DeepSeek-V4-Flash": (WARN, SOFT),
    "Qwen3.5-397B-A17B": (SOFT, WARN),
    "DeepSeek-V4-Pro": (WARN, BASELINE),
    "Kimi-K2.6": (WARN, SOFT),
}
"""The figures that Table 1 sets in bold and underlines."""

ACCURACY = {
    "Qwen3-Next-80B-A3B": (0.433, 0.403, 0.419),
    "Qwen3.5-397B-A17B": (0.989, 0.842, 0.911),
    "DeepSeek-V4-Flash": (0.556, 0.786, 0.325),
    "DeepSeek-V4-Pro": (0.944, 0.711, 0.644),
    "Gemma-4-26B-A4B": (0.325, 0.300, 0.275),
    "Gemma-4-31B": (0.508, 0.911, 0.500),
    "Kimi-K2.6": (0.828, 0.767, 0.597),
}
"""Appendix F.2, the column Acc., by setting."""

PASS_RATES = {
    ("Qwen3-Next-80B-A3B", BASELINE): (0.862, 0.992, 0.686, 0.805, 0.889, 0.944),
    ("Qwen3-Next-80B-A3B", WARN): (0.794, 0.881, 0.711, 0.855, 0.852, 0.790),
    ("Qwen3-Next-80B-A3B", SOFT): (0.798, 0.849, 0.692, 0.807, 0.841, 0.760),
    ("Qwen3.5-397B-A17B", BASELINE): (0.998, 1.000, 0.622, 0.762, 0.983, 0.996),
    ("Qwen3.5-397B-A17B", WARN): (0.869, 0.927, 0.778, 0.894, 0.934, 0.831),
    ("Qwen3.5-397B-A17B", SOFT): (0.901, 0.956, 0.906, 0.941, 0.963, 0.860),
    ("DeepSeek-V4-Flash", BASELINE): (0.652, 0.741, 0.119, 0.249, 0.864, 0.681),
    ("DeepSeek-V4-Flash", WARN): (0.892, 0.877, 0.761, 0.854, 0.906, 0.802),
    ("DeepSeek-V4-Flash", SOFT): (0.212, 0.528, 0.347, 0.407, 0.771, 0.430),
    ("DeepSeek-V4-Pro", BASELINE): (0.946, 0.981, 0.153, 0.312, 0.950, 0.961),
    ("DeepSeek-V4-Pro", WARN): (0.824, 0.849, 0.664, 0.813, 0.866, 0.762),
    ("DeepSeek-V4-Pro", SOFT): (0.470, 0.752, 0.639, 0.692, 0.860, 0.681),
    ("Gemma-4-26B-A4B", BASELINE): (0.869, 0.939, 0.111, 0.144, 0.872, 0.830),
    ("Gemma-4-26B-A4B", WARN): (0.649, 0.806, 0.506, 0.708, 0.822, 0.650),
    ("Gemma-4-26B-A4B", SOFT): (0.424, 0.677, 0.433, 0.564, 0.809, 0.549),
    ("Gemma-4-31B", BASELINE): (1.000, 0.990, 0.292, 0.489, 0.943, 0.948),
    ("Gemma-4-31B", WARN): (1.000, 0.987, 0.911, 0.971, 0.975, 0.879),
    ("Gemma-4-31B", SOFT): (0.862, 0.953, 0.739, 0.884, 0.917, 0.811),
    ("Kimi-K2.6", BASELINE): (0.986, 0.988, 0.450, 0.603, 0.932, 0.957),
    ("Kimi-K2.6", WARN): (0.899, 0.938, 0.772, 0.889, 0.928, 0.820),
    ("Kimi-K2.6", SOFT): (0.625, 0.743, 0.631, 0.680, 0.853, 0.659),
}
"""Appendix F.2, L1 to L6."""

BEST_LAYER = {
    "Qwen3.5-397B-A17B": "L2",
    "Qwen3-Next-80B-A3B": "L2",
    "Kimi-K2.6": "L2",
    "Gemma-4-31B": "L1",
    "DeepSeek-V4-Pro": "L2",
    "Gemma-4-26B-A4B": "L2",
    "DeepSeek-V4-Flash": "L5",
}
"""The figures set in bold in the table of baseline pass rates; L3 is underlined in every row."""

EVENTS = {
    "L1": (1213, 1201, 2, 1199, "0.16"),
    "L2": (61111, 59208, 2492, 56716, "4.08"),
    "L3": (62811, 62051, 680, 61371, "1.08"),
    "L5": (10088, 9695, 50, 9645, "0.50"),
}
"""Appendix F.3: events, resolved, insisted, listened, insist rate in percent."""
