"""What points each agent program at the model."""

from __future__ import annotations

import json
from string import Template

from teamster.rehearsal.conversation import HEADER_VARIABLES, conversation_of
from teamster.rehearsal.pointing import AGENTS, pointing_of

URL = "http://127.0.0.1:1234/v1"
ATTEMPT = {"TEAMSTER_JOB_ID": "docs", "TEAMSTER_STEP_ID": "outline", "TEAMSTER_ATTEMPT": "3"}


def test_every_program_is_sent_to_the_model_with_a_key_that_opens_nothing() -> None:
    """And no program without a model is."""
    for agent in AGENTS:
        pointing = pointing_of(agent, URL)
        assert pointing is not None
        assert "127.0.0.1:1234" in " ".join([*pointing.arguments, *pointing.env.values()])
        assert pointing.key not in pointing.env.values()
    assert pointing_of("command", URL) is None


def test_the_headers_of_claude_name_the_attempt() -> None:
    """It fills in no variables itself, so they are filled in for each attempt."""
    pointing = pointing_of("claude", URL)
    assert pointing is not None

    lines = Template(pointing.env["ANTHROPIC_CUSTOM_HEADERS"]).substitute(ATTEMPT).splitlines()
    asked = conversation_of(dict(line.split(": ") for line in lines))

    assert (str(asked), pointing.env["ANTHROPIC_BASE_URL"]) == ("docs.outline, attempt 3", URL.removesuffix("/v1"))


def test_opencode_is_configured_by_its_environment_alone() -> None:
    """It takes its own variables from there; the user's files stay as they are."""
    pointing = pointing_of("opencode", URL)
    assert pointing is not None
    configuration = json.loads(Template(pointing.env["OPENCODE_CONFIG_CONTENT"]).substitute(ATTEMPT))

    options = configuration["provider"]["rehearsal"]["options"]
    assert options["headers"] == {header: f"{{env:{variable}}}" for header, variable in HEADER_VARIABLES.items()}
    assert options["apiKey"] == f"{{env:{pointing.key_variable}}}"
    assert configuration["model"] == pointing.model == "rehearsal/scripted"
