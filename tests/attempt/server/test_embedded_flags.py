from __future__ import annotations

import pytest
import xllamacpp

from pytest_agentgrade.attempt.server import embedded_flags, flags
from pytest_agentgrade.errors import SettingsError

STUDY = [
    *("-np", "1", "-ngl", "99", "-ctk", "q8_0", "-ctv", "q8_0", "-fa", "on", "-b", "512", "-ub", "256"),
    *("--spec-type", "draft-mtp", "--spec-draft-n-max", "3"),
]
SAMPLES = {
    **dict.fromkeys(("--temp", "--top-p", "--min-p", "--repeat-penalty", "--presence-penalty", "-sps"), "0.5"),
    **dict.fromkeys(("--frequency-penalty", "--spec-draft-p-min"), "0.5"),
    **dict.fromkeys(("-ctk", "-ctv", "--spec-draft-type-k", "--spec-draft-type-v"), "q8_0"),
    **dict.fromkeys(("-fa", "-fit", "-rea"), "on"),
    "--spec-type": "draft-mtp,ngram-mod",
    "--spec-draft-sampling": "probabilistic",
    "--reasoning-format": "deepseek",
    "--chat-template-kwargs": '{"enable_thinking": false}',
}


def applied(*args: str) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    embedded_flags.apply(params, args, xllamacpp)
    return params


def test_the_flags_of_the_study_reach_the_parameters() -> None:
    params = applied(*STUDY)
    assert (params.n_parallel, params.n_gpu_layers, params.n_batch, params.n_ubatch) == (1, 99, 512, 256)
    assert params.cache_type_k == params.cache_type_v == xllamacpp.ggml_type.GGML_TYPE_Q8_0
    assert params.flash_attn_type == xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    assert params.speculative.types == [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_DRAFT_MTP]
    assert params.speculative.draft.n_max == 3
    assert params.load_mtp is True


def test_without_a_drafting_type_the_drafting_head_is_not_loaded() -> None:
    assert applied("--spec-type", "none").load_mtp is False
    assert applied("--spec-type", "draft-mtp", "--spec-draft-model", "head.gguf").load_mtp is False


def test_repeatability_reaches_the_parameters() -> None:
    kept, omitted = flags.repeatability_args(embedded_flags.BY_NAME.keys())
    params = applied(*kept)
    assert omitted == ()
    assert (params.cache_prompt, params.cache_ram_mib, params.n_cache_reuse) == (False, 0, 0)
    assert (params.n_ctx_checkpoints, params.slot_prompt_similarity, params.fit_params) == (0, 0.0, False)
    assert params.endpoint_metrics and params.endpoint_slots and params.use_jinja and not params.ui


@pytest.mark.parametrize("flag", embedded_flags.FLAGS, ids=lambda flag: flag.names[0])
def test_every_flag_of_the_table_can_be_set_in_this_xllamacpp(flag: embedded_flags.Flag) -> None:
    name = flag.names[0]
    applied(name) if flag.read is None else applied(name, SAMPLES.get(name, "7"))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--spec-type", "draft-mpt"], "must be one of none, draft-simple, draft-mtp"),
        (["--spec-draft-nmax", "3"], "did you mean --spec-draft-n-max?"),
        (["-b"], "-b needs a value"),
        (["-b", "many"], "-b many"),
        (["--metrics", "yes"], "got a value without a flag: yes"),
        (["--chat-template-kwargs", "[1]"], "must be a JSON object"),
    ],
)
def test_a_wrong_command_line_is_refused_before_anything_starts(args: list[str], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        embedded_flags.check(args)
    assert said in str(caught.value)


def test_a_right_command_line_passes() -> None:
    embedded_flags.check([*STUDY, "--reasoning-budget", "-1", "--temp", "0.7", "-rea", "off"])
