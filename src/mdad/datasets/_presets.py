"""Sizes of real benchmarks, so that a simulation has the shape of what it stands for."""

from __future__ import annotations

from typing import Any

MMLU_SUBTASKS = {
    "abstract_algebra": 100,
    "anatomy": 135,
    "astronomy": 152,
    "business_ethics": 100,
    "clinical_knowledge": 265,
    "college_biology": 144,
    "college_chemistry": 100,
    "college_computer_science": 100,
    "college_mathematics": 100,
    "college_medicine": 173,
    "college_physics": 102,
    "computer_security": 100,
    "conceptual_physics": 235,
    "econometrics": 114,
    "electrical_engineering": 145,
    "elementary_mathematics": 378,
    "formal_logic": 126,
    "global_facts": 100,
    "high_school_biology": 310,
    "high_school_chemistry": 203,
    "high_school_computer_science": 100,
    "high_school_european_history": 165,
    "high_school_geography": 198,
    "high_school_government_and_politics": 193,
    "high_school_macroeconomics": 390,
    "high_school_mathematics": 270,
    "high_school_microeconomics": 238,
    "high_school_physics": 151,
    "high_school_psychology": 545,
    "high_school_statistics": 216,
    "high_school_us_history": 204,
    "high_school_world_history": 237,
    "human_aging": 223,
    "human_sexuality": 131,
    "international_law": 121,
    "jurisprudence": 108,
    "logical_fallacies": 163,
    "machine_learning": 112,
    "management": 103,
    "marketing": 234,
    "medical_genetics": 100,
    "miscellaneous": 783,
    "moral_disputes": 346,
    "moral_scenarios": 895,
    "nutrition": 306,
    "philosophy": 311,
    "prehistory": 324,
    "professional_accounting": 282,
}
"""Items of the first 48 of the 57 test sets of MMLU; 10,631 together.

These 48 have the 5,306 seen items (floor of half of each) of the paper's tables; all 57 have 7,010.
"""

MMLU_PRO_SUBTASKS = {
    "biology": 717,
    "business": 789,
    "chemistry": 1132,
    "computer science": 410,
    "economics": 844,
    "engineering": 969,
    "health": 818,
    "history": 381,
    "law": 1101,
    "math": 1351,
    "other": 924,
    "philosophy": 499,
    "physics": 1299,
    "psychology": 798,
}
"""Items of each category of MMLU-Pro; 12,032 together."""

# Options of each BIG-Bench Hard task in its multiple-choice form.
BBH_OPTIONS = {
    "boolean_expressions": 2,
    "causal_judgement": 2,
    "date_understanding": 6,
    "disambiguation_qa": 3,
    "formal_fallacies": 2,
    "geometric_shapes": 11,
    "hyperbaton": 2,
    "logical_deduction_five_objects": 5,
    "logical_deduction_seven_objects": 7,
    "logical_deduction_three_objects": 3,
    "movie_recommendation": 6,
    "navigate": 2,
    "object_counting": 19,
    "penguins_in_a_table": 5,
    "reasoning_about_colored_objects": 18,
    "ruin_names": 6,
    "salient_translation_error_detection": 6,
    "snarks": 2,
    "sports_understanding": 2,
    "temporal_sequences": 4,
    "tracking_shuffled_objects_five_objects": 5,
    "tracking_shuffled_objects_seven_objects": 7,
    "tracking_shuffled_objects_three_objects": 3,
    "web_of_lies": 2,
}

BBH_SUBTASKS = {
    **dict.fromkeys(BBH_OPTIONS, 250),
    "causal_judgement": 187,
    "penguins_in_a_table": 146,
    "snarks": 178,
}
"""Items of the 24 multiple-choice tasks of BIG-Bench Hard; 5,761 together."""

PRESETS: dict[str, dict[str, Any]] = {
    "mmlu": {
        "n_models": 366,
        "subtasks": MMLU_SUBTASKS,
        "n_options": 4,
        "guessing": 0.6,
        "accuracy_mean": 0.55,
        "accuracy_sd": 0.13,
    },
    "mmlu-pro": {
        "n_models": 470,
        "subtasks": MMLU_PRO_SUBTASKS,
        "n_options": 10,
        "guessing": 0.4,
        "accuracy_mean": 0.35,
        "accuracy_sd": 0.13,
    },
    "bbh": {
        "n_models": 409,
        "subtasks": BBH_SUBTASKS,
        "n_options": BBH_OPTIONS,
        "guessing": 0.6,
        "accuracy_mean": 0.5,
        "accuracy_sd": 0.1,
    },
    "gpqa": {
        "n_models": 420,
        "n_items": 448,
        "n_options": 4,
        "guessing": 0.3,
        "accuracy_mean": 0.3,
        "accuracy_sd": 0.04,
        "near_copies": 0.09,
    },
}
"""Settings by preset. Sizes are those of the real benchmarks; spreads are plausible, not fitted."""
