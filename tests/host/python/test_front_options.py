# SPDX-License-Identifier: GPL-2.0-or-later
"""--check, --schema, --version and -h: what the command tells without making a run."""

import json

import fastjsonschema
import pytest
from perhop import __version__, paths
from ruamel.yaml import YAML

FILES = sorted(paths.experiments().glob("*/experiment.yaml"))


@pytest.fixture(scope="module")
def schema():
    from perhop.experiment.json_schema import json_schema

    # The library knows the draft before; what is used of it is the same.
    return json.loads(json.dumps(json_schema()).replace("$defs", "definitions")) | {
        "$schema": "http://json-schema.org/draft-07/schema#"
    }


def test_an_experiment_is_checked_without_a_run(home, experiment, perhop, made):
    done = perhop("run", experiment, "--check")
    assert done.code == 0 and "small: nothing is wrong. 8 runs by perhop-sim" in done.stdout
    assert made() == [] and not (home / "out").exists()
    told = json.loads(perhop("run", experiment, "--check", "--json").stdout)
    assert (told["runs"], told["points"], told["warnings"]) == (8, 2, [])


def test_a_check_finds_what_a_run_would(home, experiment, perhop):
    done = perhop("run", experiment, "--check", "--set", "flows.0.dst=9")
    assert done.code == 2 and "flows.0.dst" in done.said and "remedy:" in done.said


def test_the_schema_is_printed_without_a_file(perhop):
    done = perhop("run", "--schema")
    assert done.code == 0 and json.loads(done.stdout)["title"] == "perhop experiment"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_every_experiment_file_is_as_the_schema_says(schema, file):
    fastjsonschema.validate(schema, YAML(typ="safe", pure=True).load(file.read_text()))


@pytest.mark.parametrize(
    "wrong",
    [
        {"topologie": {}},
        {"topology": {"hops": 3}},
        {"topology": {"kind": "chain", "hops": 0}},
        {"flows": [{"kind": "tcp", "variant": "tahoe"}]},
        {"routing": "ospf"},
        {"sweep": {"topology.hops": 3}},
    ],
)
def test_the_schema_refuses_what_is_wrong(schema, wrong):
    right = {"name": "x", "topology": {"kind": "chain", "hops": 2}, "flows": [{"kind": "tcp"}], "duration_s": 5}
    fastjsonschema.validate(schema, right)
    with pytest.raises(fastjsonschema.JsonSchemaException):
        fastjsonschema.validate(schema, right | wrong)


@pytest.mark.parametrize("words", [["-h"], ["run", "-h"], ["live", "up", "-h"]])
def test_a_dash_and_h_help_everywhere(perhop, words):
    done = perhop(*words)
    assert done.code == 0 and done.stdout == perhop(*words[:-1], "--help").stdout
    assert "Usage" in done.stdout


def test_the_version_is_an_option_too(perhop):
    assert perhop("--version").stdout == perhop("version").stdout
    assert __version__ in perhop("--version").stdout
