# SPDX-License-Identifier: GPL-2.0-or-later
"""What a virtual device reads in image cores, and which radio channels they give streams."""

import json
from pathlib import Path

import pytest
from perhop.errors import PerhopError

from .devices import BEFORE, E3XX, image_cores
from .devices import image_core as reader


def edges(core: dict) -> set[tuple[str, int, str, int]]:
    image = reader.parse(core, "core")
    names = ["core", *(each.name for each in image.endpoints), *(each.name for each in image.blocks)]
    return {
        (names[each.source], each.source_port, names[each.destination], each.destination_port) for each in image.edges
    }


@pytest.mark.parametrize("name", E3XX)
def test_both_directions_of_perhop_and_of_its_radio_channel_are_connected(name):
    wanted = {("ep0", 0, "radio0", 0), ("radio0", 0, "ep0", 0), ("ep1", 0, "perhop0", 0), ("perhop0", 0, "ep1", 0)}
    assert wanted <= edges(E3XX[name])


@pytest.mark.parametrize("name", E3XX)
def test_the_other_channel_has_streams_where_the_converter_can_run_both(name):
    other = {("ep2", 0, "radio0", 1), ("radio0", 1, "ep2", 0)}
    assert other & edges(E3XX[name]) == (other if float(name.split("_")[2]) <= 30.72 else set())


@pytest.mark.parametrize("name", BEFORE)
def test_the_image_cores_from_before_had_no_streams_of_the_other_channel(name):
    assert not {each for each in edges(json.loads(BEFORE[name].read_text())) if ("radio0", 1) in (each[:2], each[2:])}


@pytest.mark.parametrize("name", [name for name in image_cores() if name not in E3XX])
def test_an_image_core_of_another_device_is_refused_by_name(name):
    with pytest.raises(PerhopError, match=f"plays no {image_cores()[name]['device']}"):
        reader.parse(image_cores()[name], name)


def test_an_image_core_that_names_what_is_not_there_is_refused(tmp_path: Path):
    core = json.loads(json.dumps(E3XX["e320_perhop_22"]))
    core["connections"][0]["dstblk"] = "perhop7"
    with pytest.raises(PerhopError, match=r"perhop7\.packets is of no endpoint and no block"):
        reader.parse(core, "core")
    core = json.loads(json.dumps(E3XX["e320_perhop_22"]))
    core["noc_blocks"]["perhop0"]["block_desc"] = "absent.yml"
    with pytest.raises(PerhopError, match=r"perhop0\.block_desc"):
        reader.parse(core, "core")
    for text in ("[1, 2]", "device: e320", "a: [", ""):
        path = tmp_path / "core.yml"
        path.write_text(text)
        with pytest.raises(PerhopError, match=r"core\.yml"):
            reader.load(path)
    with pytest.raises(PerhopError, match=r"absent\.yml"):
        reader.load(tmp_path / "absent.yml")
