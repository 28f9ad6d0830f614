"""Kernel logs: which Xid messages are failures, of which GPU, and when."""

from __future__ import annotations

from datetime import UTC

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_format import every_line_counts, mutated, n_lines, outcome, us

from ettr import evidence
from ettr.core.errors import InputError
from ettr.evidence.xid_codes import XidKind, xid
from ettr.files.zones import zone_of
from ettr.logs.bursts import Bursts
from ettr.logs.readers.xid import FORMAT

DMESG = """\
[Mon Mar  3 01:00:00 2025] usb 1-1: new high-speed USB device number 2 using xhci_hcd
[Mon Mar  3 02:00:00 2025] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[Mon Mar  3 02:00:00 2025] NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.
[Mon Mar  3 02:00:01 2025] NVRM: A GPU crash dump has been created.
[Tue Mar  4 04:12:33 2025] NVRM: Xid (PCI:0000:10:1c): 63, pid=411, Row Remapper: New row marked for remapping
[Tue Mar  4 05:00:00 2025] NVRM: Xid (PCI:0000:5e:00): 31, pid=812, name=python3, Ch 0000001e
[Tue Mar  4 05:00:02 2025] NVRM: Xid (PCI:0000:5e:00): 45, pid=812, name=python3, Ch 00000001
[Wed Mar  5 00:00:00 2025] NVRM: Xid (0000:5E:00): 48, pid=99, DBE (double bit error) at bank 3
[Thu Mar  6 12:00:00 2025] EXT4-fs (sda1): mounted filesystem
"""
SYSLOG = """\
Dec 31 23:00:00 rack4-n07 kernel: [8130.112233] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.
Dec 31 23:30:00 rack4-n08 kernel: [99.5] EXT4-fs (sda1): re-mounted
Jan  1 00:30:00 rack4-n07 kernel: [9130.112233] NVRM: Xid (PCI:0000:3b:00): 74, pid=1, NVLink: fatal error on link 5
Jan  1 01:00:00 rack4-n09 systemd[1]: Started something
"""
JOURNAL = """\
2025-03-03T02:00:00+0100 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 95, pid=7, Uncontained ECC error
2025-03-03T02:00:00+0100 n2 kernel: NVRM: Xid (PCI:0000:3b:00): 95, pid=7, Uncontained ECC error
2025-03-03T03:00:00+0100 n3 kernel: nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up
2025-03-03T03:00:00+0100 n3 kernel: nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Severity 1 Engine instance 30
2025-03-03T03:00:09+0100 n3 kernel: nvidia-nvswitch1: SXid (PCI:0000:c2:00.0): 28006, Non-fatal, Link 46 MC crumb
"""
LOST = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, text"


def line(at: str, code, gpu="PCI:0000:3b:00", text="pid=1, text") -> str:
    return f"[Mon Mar  3 {at} 2025] NVRM: Xid ({gpu}): {code}, {text}"


def test_dmesg():
    log = outcome(FORMAT, DMESG)
    assert log.starts == ["2025-03-03 02:00:00", "2025-03-05 00:00:00"]
    assert log.events["cause"].tolist() == ["Xid 79: GPU fell off the bus", "Xid 48: uncorrectable ECC error"]
    assert log.events["component"].tolist() == ["GPU", "GPU memory"]
    assert log.events["gpu"].tolist() == ["0000:3b:00", "0000:5e:00"]
    assert log.events["node"].isna().all() and log.exposure.n_nodes is None
    assert log.n("dropped", "Xid 31: usually the application") == 1
    assert log.n("dropped", "Xid 45: usually the application") == 1
    assert log.n("dropped", "Xid 63") == 1
    assert log.n("dropped", "no GPU error in the line") == 3
    assert log.n("merged", "same number within 5 min") == 1
    assert log.n_records == n_lines(DMESG)
    assert log.exposure.window == (us("2025-03-03T01:00"), us("2025-03-06T12:00"))  # of all lines
    assert "within 5 min count as one failure" in log.notes


def test_syslog_needs_a_year_and_turns_it():
    with pytest.raises(InputError, match="`year`"):
        outcome(FORMAT, SYSLOG)
    log = outcome(FORMAT, SYSLOG, year=2024)
    assert log.starts == ["2024-12-31 23:00:00", "2025-01-01 00:30:00"]
    assert log.events["node"].tolist() == ["rack4-n07"] * 2
    assert log.exposure.n_nodes == 2
    assert "kernel line: 2;" in log.notes
    assert log.exposure.window == (us("2024-12-31T23:00"), us("2025-01-01T01:00"))


def test_journal_and_switches():
    log = outcome(FORMAT, JOURNAL)
    assert log.starts == ["2025-03-03 01:00:00"] * 2 + ["2025-03-03 02:00:00"]
    assert log.events["node"].tolist() == ["n1", "n2", "n3"]
    assert log.events["component"].tolist() == ["GPU memory", "GPU memory", "NVSwitch"]
    assert log.events["cause"].tolist()[2] == "SXid 20034"
    assert log.n("dropped", "SXid: NVSwitch error, not fatal") == 1
    assert log.n("dropped", "SXid: details") == 1
    assert "kernel line" not in outcome(FORMAT, JOURNAL, n_nodes=10).notes


@pytest.mark.parametrize(
    ("stamp", "host"),
    [
        ("[Mon Mar  3 02:00:00 2025] ", None),
        ("kern  :err   : [Mon Mar  3 02:00:00 2025] ", None),
        ("2025-03-03T02:00:00+00:00 ", None),
        ("2025-03-03T02:00:00,123456+00:00 ", None),
        ("2025-03-03T02:00:00.5Z n1 kernel: ", "n1"),
        ("2025-03-03 02:00:00 n1 kernel: ", "n1"),
        ("<3>1 2025-03-03T02:00:00.123Z n1 kernel - - - [12.5] ", "n1"),
        ("<6>Mar  3 02:00:00 n1 kernel: [12345.678901] ", "n1"),
        ("Mar 03 02:00:00 n1 kernel: ", "n1"),
        # other outputs of journalctl and dmesg
        ("Mon 2025-03-03 02:00:00 UTC n1 kernel: ", "n1"),
        ("Mo 2025-03-03 03:00:00 CET n1 kernel: ", "n1"),
        ("1740967200.000123 n1 kernel: ", "n1"),
        ("2025-03-03 02:00:00 NODE kernel: ", "NODE"),
        ("[Mon Mar  3 02:00:00 2025 <    0.000012>] ", None),
        # other languages
        ("Mär 03 02:00:00 n1 kernel: ", "n1"),
        ("mars 03 02:00:00 n1 kernel: ", "n1"),
        ("3月 03 02:00:00 n1 kernel: ", "n1"),
        ("[Mo Mär  3 02:00:00 2025] ", None),
        # prefixes of tools that collect lines
        ("gpu001: [Mon Mar  3 02:00:00 2025] ", "gpu001"),
        ("gpu001: <3>[Mon Mar  3 02:00:00 2025] ", "gpu001"),
        ("gpu001: 2025-03-03T02:00:00+00:00 n7 kernel: ", "n7"),
        ("gpu-1.site.org: Mar  3 02:00:00 n7 kernel: ", "n7"),
        ("/var/log/gpu001/kern.log:2025-03-03T02:00:00 n7 kernel: ", "n7"),
        ("kern.log:17:Mar  3 02:00:00 n7 kernel: ", "n7"),
        ("/logs/gpu001.txt:[Mon Mar  3 02:00:00 2025] ", None),
    ],
)
def test_stamps(stamp, host):
    log = outcome(FORMAT, stamp + LOST, year=2025)
    assert log.starts == ["2025-03-03 02:00:00"]
    assert log.events["node"].dropna().tolist() == ([host] if host else [])
    assert FORMAT.sniff([stamp + LOST])


def test_relative_stamps_follow_the_line_before():
    """dmesg --human gives the minute once, and then the seconds since the line before."""
    text = f"[  +1.5] before any date\n[Mar  3 02:00] usb\n[  +0.5] usb\n[  +9.25] {LOST}\n"
    log = outcome(FORMAT, text, year=2025)
    assert log.starts == ["2025-03-03 02:00:09"] and log.events["start"].iloc[0].microsecond == 750_000
    assert log.n("not parsed", "no time stamp") == 1


def test_months_of_an_unread_language_are_refused_by_name():
    """Leaving out their lines would give a wrong window and a wrong rate."""
    text = f"Mar 03 02:00:00 n1 kernel: usb\npaź 07 02:00:00 n1 kernel: {LOST}\n"
    with pytest.raises(InputError, match=r"'paź'.*line 2.*LC_ALL=C.*short-iso"):
        outcome(FORMAT, text, year=2025)


@pytest.mark.parametrize("zone", ["CST", "IST", "PST"])
def test_ambiguous_abbreviations_of_zones_are_refused(zone):
    text = f"Mon 2025-03-03 02:00:00 {zone} n1 kernel: {LOST}"
    with pytest.raises(InputError, match=zone):
        outcome(FORMAT, text)
    if zone == "CST":
        assert outcome(FORMAT, text, zone=zone_of("Asia/Shanghai")).starts == ["2025-03-02 18:00:00"]


LOST_IN_LINES = ("NVRM: The NVIDIA GPU 0000:b3:00.0", "NVRM: (PCI ID: 10de) has", "NVRM: fallen off the bus.")


@pytest.mark.parametrize("separator", ["\n              ", "\n", "#012"])
def test_lines_without_a_stamp_continue_the_line_before(separator):
    text = f"2025-03-03T02:00:00Z n1 kernel: {separator.join(LOST_IN_LINES)}\n2025-03-04T02:00:00Z n1 kernel: usb\n"
    log = outcome(FORMAT, text)
    assert log.starts == ["2025-03-03 02:00:00"] and log.events["gpu"].tolist() == ["0000:b3:00"]
    assert log.events["cause"].tolist() == ["Xid 79: GPU fell off the bus"]
    assert log.n("merged", "continues") == 2 * separator.startswith("\n") and log.n_records == n_lines(text)


def test_the_verbose_journal_names_the_host_in_a_line_of_its_own():
    text = f"Mon 2025-03-03 02:00:00.5 UTC [s=1;i=2]\n    _HOSTNAME=n1\n    MESSAGE={LOST}\n"
    log = outcome(FORMAT, text)
    assert log.events["node"].tolist() == ["n1"] and log.exposure.n_nodes == 1


def test_an_xid_in_a_line_that_continues_another_counts_as_well():
    """Two GPUs of one stamp are one failure of the node, but neither message is lost."""
    other = LOST.replace("3b:00", "5e:00")
    log = outcome(FORMAT, f"2025-03-03T02:00:00Z n1 kernel: {LOST}\n    {other}\n    of two lines\n")
    assert len(log.events) == 1 and log.n("merged", "same node") == 1 and log.n("merged", "continues") == 1


def test_only_the_next_lines_continue_a_message():
    text = f"2025-03-03T02:00:00Z n1 kernel: usb\n    indented\nnot indented\n    {LOST}\n{LOST}\n"
    log = outcome(FORMAT, text)
    assert log.events.empty and log.n("not parsed", "no time stamp") == 3


@pytest.mark.parametrize("text", [LOST, f"__CURSOR=1\nMESSAGE={LOST}", f"05.06.2025 10:00:00 n1 kernel: {LOST}"])
def test_a_log_without_a_stamp_is_refused_with_the_command(text):
    with pytest.raises(InputError, match=r"line 1: '.*dmesg -T.*short-iso"):
        outcome(FORMAT, text)


def test_an_uptime_alone_is_no_date():
    text = f"[12345.678901] {LOST}\n[ 12346.0] other\n"
    delta = f"[<    0.000000>] x\n[   12.5 <    0.1>] {LOST}\n"
    for refused in (text, f"gpu001: [12345.678901] {LOST}\n", f"<3>[  99.5] {LOST}\n", delta):
        with pytest.raises(InputError, match="dmesg -T"):
            outcome(FORMAT, refused)
    log = outcome(FORMAT, text + DMESG)
    assert log.n("not parsed", "only an uptime") == 2 and len(log.events) == 2


FAILURES = (8, 39, 46, 48, 62, 64, 74, 79, 94, 95, 109, 110, 119, 120, 136, 140, 143, 149, 158, 167, 171)
NO_ACTION = (37, 38, 44, 63, 66, 67, 92, 93, 106, 107, 108, 121, 141, 152, 153, 154, 157, 160, 161)
POWER_SMOOTHING = (162, 163, 164, 165, 168)
OF_THE_APPLICATION = (11, 13, 25, 31, 32, 43, 45, 68, 69, 73, 78, 80, 137)
NO_FAILURES = (*NO_ACTION, *POWER_SMOOTHING, *OF_THE_APPLICATION)


@pytest.mark.parametrize("code", [*FAILURES, *NO_FAILURES])
def test_which_numbers_are_failures(code):
    log = outcome(FORMAT, line("02:00:00", code))
    if code in FAILURES:
        assert log.events["cause"].tolist() == [xid(code).cause]
        assert xid(code).cause.startswith(f"Xid {code}")
    else:
        assert log.events.empty and log.n("dropped", f"Xid {code}:") == 1
        assert (xid(code).kind is XidKind.APPLICATION) == (code in OF_THE_APPLICATION)


@pytest.mark.parametrize("code", [142, 166, 177, 777])
def test_codes_of_unknown_kind_are_named_and_counted_apart(code):
    """Neither a failure in silence nor left out in silence."""
    text = "\n".join([line("02:00:00", code), line("03:00:00", code), line("04:00:00", 79)])
    log = outcome(FORMAT, text)
    assert log.events["cause"].tolist() == ["Xid 79: GPU fell off the bus"]
    assert log.n("dropped", f"Xid {code}") == 2
    assert f"Xid {code} (2 messages) not counted" in log.doubts


def test_known_codes_are_no_caution():
    assert not outcome(FORMAT, "\n".join([line("02:00:00", 79), line("03:00:00", 31)])).doubts


def test_the_table_of_codes_follows_the_catalogue():
    """No action means no failure, and a reset means one."""
    table = evidence.table("xid_codes").set_index("code")
    ignored = table.index[table["action"] == "IGNORE"]
    assert not (table.loc[ignored, "kind"] == "hardware").any()
    assert set(ignored) >= {*NO_ACTION} - {154}
    resets = table["action"].isin(["RESET_GPU", "RESTART_BM", "RESTART_VM"])
    assert (table.loc[resets, "kind"] == "hardware").all() and resets.sum() > 10
    assert not table.loc[table["kind"] == "hardware", "action"].isin(["IGNORE", "UPDATE_SWFW"]).any()


def test_new_link_errors_say_whether_they_are_fatal():
    text = "\n".join(
        [
            line("01:00:00", 149, text="NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6 0x00000000 0x00000000)"),
            line("02:00:00", 145, text="RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001)"),
            line("03:00:00", 144, text="SAW_MVB Non-fatal XC0 i0 Link 0 (0x00000001 0x00000008 0x00000000)"),
            line("04:00:00", 74, text="pid=1, Nonfatal, but of another form"),
        ]
    )
    log = outcome(FORMAT, text)
    assert log.events["cause"].tolist() == ["Xid 149: NVLink NETIR error", "Xid 74: NVLink error"]
    assert log.n("dropped", "not fatal") == 2


def test_bursts_are_one_failure_a_gpu():
    """A burst of 48 for 12 min, a 95 inside its first 5 min, one 48 of another GPU, one 48 an hour later."""
    burst = [line(f"02:{minute:02d}:00", 48) for minute in (0, 4, 8, 12)]
    others = [line("02:03:00", 95), line("02:05:00", 48, "PCI:0000:5e:00"), line("03:30:00", 48)]
    log = outcome(FORMAT, "\n".join(sorted(burst + others)))
    assert [start[11:16] for start in log.starts] == ["02:00", "02:05", "03:30"]
    assert log.n("merged", "same number within 5 min of the last") == 3
    assert log.n("merged", "same GPU within 5 min") == 1


@given(
    minutes=st.lists(st.integers(0, 600), min_size=1, max_size=60).map(sorted),
    codes=st.lists(st.sampled_from([48, 79, 95]), min_size=60, max_size=60),
)
@settings(max_examples=80, deadline=None)
def test_bursts_against_their_definition(minutes, codes):
    """The rule again, by looking back over all messages instead of keeping a state."""
    bursts, begun, seen = Bursts(), [], []
    for at, code in zip(minutes, codes, strict=False):
        again = any(c == code and at - b <= 5 for b, c in seen)
        joined = bool(begun) and at - begun[-1] <= 5
        assert bool(bursts.seen("gpu", code, at * 60_000_000)) == (again or joined)
        if not (again or joined):
            begun.append(at)
        seen.append((at, code))


def test_gpus_of_one_node_are_one_failure():
    """A job stops once: five GPUs of n1 within 5 min; a sixth later, and a GPU of n2, are failures of their own."""
    at = (("02:00:00", "n1", 1), ("02:00:00", "n1", 2), ("02:01:00", "n2", 1), ("02:04:59", "n1", 3))
    later = (("02:05:00", "n1", 4), ("02:05:01", "n1", 5))
    text = "\n".join(
        f"2025-03-03T{when} {host} kernel: NVRM: Xid (PCI:0000:{gpu:02x}:00): 79, pid=1, text"
        for when, host, gpu in (*at, *later)
    )
    log = outcome(FORMAT, text)
    assert [(start[11:], node) for start, node in zip(log.starts, log.events["node"], strict=True)] == [
        ("02:00:00", "n1"),
        ("02:01:00", "n2"),
        ("02:05:01", "n1"),
    ]
    assert log.n("merged", "same node within 5 min") == 3
    assert "several GPUs of one node" in log.notes


def test_the_year_of_a_stamp_is_not_kept_for_its_next_use():
    """The same day and hour in two years, with few lines between them."""
    months = ("Jan", "May", "Sep", "Jan")
    log = outcome(FORMAT, "\n".join(f"{month}  3 02:00:00 n1 kernel: {LOST}" for month in months), year=2023)
    assert log.starts == [f"{day}-03 02:00:00" for day in ("2023-01", "2023-05", "2023-09", "2024-01")]


def test_rubbish_is_counted():
    text = DMESG + "\x01\x02 no stamp here\nNVRM: Xid (PCI:0000:3b:00): 79, no stamp\n"
    text += "[Mon Feb 30 02:00:00 2025] no such day\n[Mon Mar  3 02:00:00 1900] long ago\n"
    text += "[Thu Mar  6 13:00:00 2025] NVRM: Xid (what): ever\n" + "2025-03-06T14:00:00Z " + "Xid " * 200_000 + "\n"
    log = outcome(FORMAT, text, zone=UTC)
    assert len(log.events) == 2
    assert log.n("not parsed", "no time stamp") == 2
    assert log.n("not parsed", "year outside") == 1
    assert log.n("not parsed", "unknown form") == 1
    assert log.n_records == n_lines(text)


def test_sniff():
    assert all(
        FORMAT.sniff(text.split("\n")) for text in (DMESG, SYSLOG, JOURNAL, "[    1.0] Linux\n[    2.0] Command")
    )
    assert not FORMAT.sniff(["start,end,node", "2025-03-01,2025-03-02,a"])


@given(data=st.data(), text=st.sampled_from([DMESG, SYSLOG, JOURNAL]))
@settings(max_examples=60, deadline=None)
def test_any_text_is_read_or_refused(data, text):
    every_line_counts(FORMAT, data.draw(mutated(text)), year=2024)


PLAIN = "2025-03-04T02:00:00Z n1 kernel: usb"


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        (f"  {LOST}\n\t2025-03-03T02:00:00Z n1 kernel: {LOST}\n    {PLAIN}", ["2025-03-03 02:00:00"]),
        (f" 3月 03 02:00:00 n1 kernel: {LOST}\n12月 03 02:00:00 n1 kernel: usb", ["2025-03-03 02:00:00"]),
        (f"[Mar 3 02:00] usb\n[Mar30 02:00] {LOST}\n[  +1.0] usb", ["2025-03-30 02:00:00"]),
        (f"Mon 2025-03-03 02:00:00 -03 n1 kernel: {LOST}\n{PLAIN}", ["2025-03-03 05:00:00"]),
        (f"2025-03-03T02:00:00+02 n1 kernel: {LOST}\n{PLAIN}", ["2025-03-03 00:00:00"]),
    ],
)
def test_stamps_of_other_tools(text, starts):
    log = outcome(FORMAT, text, year=2025)
    assert log.starts == starts and set(log.events["node"].dropna()) <= {"n1"}


def test_lines_of_several_hosts_continue_the_line_of_their_host():
    """pdsh mixes the lines of hosts, and puts its prefix before the lines that continue a message too."""
    lines = [f"n{host}: 2025-03-03T02:00:00Z n{host} kernel: {LOST_IN_LINES[0]}" for host in (1, 2)]
    lines += [f"n{host}:      {part}" for part in LOST_IN_LINES[1:] for host in (1, 2)]
    log = outcome(FORMAT, "\n".join([*lines, f"n1: {PLAIN}"]))
    assert log.events["node"].tolist() == ["n1", "n2"] and log.n("merged", "continues") == 4
    assert log.n_records == n_lines("\n".join(lines)) + 1
