"""The progress log, what the driver reads of it, and the sentence for a training that died."""

from __future__ import annotations

from surrogate.training.progress import DISK_FULL, NAME, ProgressLog, explain, read_progress


def test_events_are_read_once_and_in_order(tmp_path):
    log = ProgressLog(tmp_path)
    log.write("started", ranks=2)
    events, offset = read_progress(tmp_path)
    assert [(event["event"], event["ranks"]) for event in events] == [("started", 2)]
    log.write("epoch", epoch=1)
    events, offset = read_progress(tmp_path, offset)
    assert [event["epoch"] for event in events] == [1]
    assert read_progress(tmp_path, offset) == ([], offset)


def test_a_line_that_is_not_whole_waits(tmp_path):
    ProgressLog(tmp_path).write("epoch", epoch=1)
    with (tmp_path / NAME).open("a") as file:
        file.write('{"event": "epo')
    events, offset = read_progress(tmp_path)
    assert len(events) == 1
    with (tmp_path / NAME).open("a") as file:
        file.write('ch", "epoch": 2}\nrubbish\n')
    assert [event["epoch"] for event in read_progress(tmp_path, offset)[0]] == [2]


def test_other_ranks_write_nothing(tmp_path):
    ProgressLog(None).write("epoch")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_is_explained_by_its_own_sentence(tmp_path):
    log = ProgressLog(tmp_path)
    log.write("started")
    log.write("failed", sentence="The loss is no longer finite.")
    assert str(explain(tmp_path, 1)) == "The loss is no longer finite."


def test_a_killed_training_is_explained_by_where_it_was(tmp_path):
    log = ProgressLog(tmp_path)
    log.write("started")
    log.write("checkpoint")
    log.write("epoch", member=2, epoch=120)
    sentence = str(explain(tmp_path, -9))
    assert "was ended by signal 9 after epoch 120 of member 2" in sentence
    assert "`surrogate resume`: it goes on from its last checkpoint" in sentence


def test_what_an_earlier_attempt_said_does_not_explain_this_one(tmp_path):
    log = ProgressLog(tmp_path)
    log.write("started")
    log.write("failed", sentence="The disk is full.")
    log.write("started")
    assert "ended with status 137 before its first epoch" in str(explain(tmp_path, 137))
    assert "begins again" in str(explain(tmp_path, 137))


def test_a_training_that_never_spoke_is_explained(tmp_path):
    assert "before its first epoch" in str(explain(tmp_path, 1))


def test_a_training_that_had_no_room_for_its_sentence_is_explained(tmp_path):
    ProgressLog(tmp_path).write("started")
    sentence = str(explain(tmp_path, DISK_FULL))
    assert str(tmp_path) in sentence
    assert "the disk is full" in sentence
    assert "killed" not in sentence
