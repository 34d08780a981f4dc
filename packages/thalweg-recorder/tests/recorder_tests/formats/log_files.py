"""Recorded files, found and read with every format."""

from functools import partial

from benchmarks.formats import FORMATS
from recorder_tests.unit.lab.recordings import log_files
from thalweg_recorder.recordings import files

read_document = partial(log_files.read_document, formats=FORMATS)
read_recording = partial(files.read_recording, formats=FORMATS)
find_recordings = partial(files.find_recordings, formats=FORMATS)
