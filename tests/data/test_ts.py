"""The reader of ``.ts`` files against hand-made ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsbench.data.ts import read_ts
from tsbench.errors import UserError

HEAD = "# a comment\n@problemName Test\n@timeStamps false\n@classLabel true left right\n"


def read(text: str):
    return read_ts(text.encode(), "test.ts")


def test_one_channel_of_one_length() -> None:
    found = read(
        HEAD + "@univariate true\n@equalLength true\n@seriesLength 3\n@data\n"
        "1,2.5,-3e2:left\n\n0,?,NaN:right\n"
    )
    assert found.labels == ["left", "right"]
    np.testing.assert_array_equal(found.series[0], [[1, 2.5, -300]])
    np.testing.assert_array_equal(found.series[1], [[0, np.nan, np.nan]])


def test_channels_lengths_windows_line_ends_and_capitals() -> None:
    text = (HEAD + "@univariate false\n@dimensions 2\n@equalLength false\n@DATA\n").replace(
        "@classLabel", "@CLASSLABEL"
    )
    found = read("\ufeff" + (text + "1,2:3,4:left\n5, 6 ,7:8,9,10: right \n").replace("\n", "\r\n"))
    assert [s.tolist() for s in found.series] == [[[1, 2], [3, 4]], [[5, 6, 7], [8, 9, 10]]]
    assert found.labels == ["left", "right"]


@given(
    st.lists(
        st.lists(
            st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
            min_size=2,
            max_size=2,
        ),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=50, deadline=None)
def test_what_is_written_is_read_bit_for_bit(series) -> None:
    lines = [":".join(",".join(map(repr, ch)) for ch in s) + ":left" for s in series]
    found = read(HEAD + "@data\n" + "\n".join(lines))
    np.testing.assert_array_equal(np.stack(found.series), np.array(series))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no @data"),
        (HEAD + "1,2:left\n@data", "line 5: neither a @tag"),
        ("@classLabel true left\n", "no @data"),
        (HEAD + "@data\n", "no series"),
        ("@data\n1,2:left", "no class labels"),
        ("@classLabel false\n@data\n1,2", "no class labels"),
        (HEAD.replace("false", "true") + "@data\n(0,1):left", "time stamps"),
        (HEAD.replace("false", "maybe") + "@data\n", "must be true or false"),
        (HEAD + "@data\n1,2:left\n1,x:left\n", "line 7: could not convert string to float: 'x'"),
        (HEAD + "@data\n1,,2:left\n", "line 6: could not convert"),
        (HEAD + "@data\n1,2\n", "line 6: no ':'"),
        (HEAD + "@data\n1,2:up\n", "line 6: class label 'up' is not among"),
        (HEAD + "@data\n1,2:1:left\n", "line 6: channels of different lengths (1 to 2)"),
        (HEAD + "@data\n1,2:1,2:left\n1,2:left\n", "line 7: 1 channels, 2 in the lines before"),
        (HEAD + "@univariate true\n@data\n1:2:left\n", "line 7: 2 channels, the header says 1"),
        (HEAD + "@dimensions 3\n@data\n1:2:left\n", "2 channels, the header says 3"),
        (HEAD + "@dimensions no\n@data\n1:left\n", "@dimensions must be a number"),
        (
            HEAD + "@equalLength true\n@seriesLength 3\n@data\n1,2:left\n",
            "2 values, the header says 3",
        ),
        (HEAD + "@data\n1,inf:left\n", "line 6: an infinite value"),
    ],
)
def test_malformed_files_name_the_line(text: str, words: str) -> None:
    with pytest.raises(UserError) as error:
        read(text)
    assert words in str(error.value)
    assert "test.ts" in str(error.value)
    assert "\n" not in str(error.value)


def test_bytes_that_are_not_text() -> None:
    with pytest.raises(UserError, match="not valid UTF-8"):
        read_ts(b"PK\x03\x04\xff\xfe", "test.ts")
