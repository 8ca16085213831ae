#!/usr/bin/python3
"""query_agent.py DATASET ROOT RUNS AGENT... - ask an agent each question that walks snapshots, for row 21.

AGENT serves requests on its standard input, and knows the folder ROOT as DATASET.  query_walks.py, an agent in Python,
gets the same requests.  Both are running already, and are measured in the same way: by the processor time, user and
system, that all processes of the agent with all their threads take for one request, from the line that asks to the
time when all of them wait again.  So both pay for the pipe, for reading the request and for writing the reply, and
neither pays for its start.  The two are asked in turns.  In one turn, a question is asked so often that it takes some
time, because the time of a single short one is mostly that of waking an idle processor with cold caches.

Prints a line of JSON for each method: the processor time in microseconds of the agent and of the walk, both the median
of RUNS turns, divided by the questions of a turn; the median time until the agent's answer; and whether both gave the same
answer.  The last line has the memory of the agent in KiB: of all its processes together, and the most that one ever
had.
"""

import json
import os
import statistics
import subprocess
import sys
import time

TURN = 50000  # microseconds that one turn of the walk should take
HERE = os.path.dirname(os.path.abspath(__file__))
# Members that only strata-agent has, or that two right answers may differ in: where a diff puts equal lines.
OWN = {"grep_history": ["searched_contents"], "file_diff": ["diff"]}


def cpu_clock(pid):
    """The clock of the processor time of a process with all its threads, also those that have ended."""
    return (~pid << 3) | 2


class Agent:
    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def ask(self, method, params):
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def answer(self, method, params):
        answer = json.loads(self.ask(method, params))
        if "error" in answer:
            raise SystemExit(f"query_agent: {method}: {answer['error']}")
        return answer["result"]

    def pids(self):
        found, left = [], [self.process.pid]
        while left:
            pid = left.pop()
            found.append(pid)
            try:
                with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
                    left += map(int, children.read().split())
            except FileNotFoundError:
                pass
        return found

    def is_busy(self):
        for pid in self.pids():
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii") as status:
                    if status.read().rpartition(")")[2].split()[0] == "R":
                        return True
        return False

    def cpu(self):
        """The processor time so far, in nanoseconds, of each process, when all of them wait."""
        while self.is_busy():
            time.sleep(0.0005)
        return {pid: time.clock_gettime_ns(cpu_clock(pid)) for pid in self.pids()}

    def measure(self, method, params, times):
        """The processor time and the wall time of a question, in microseconds."""
        before, began = self.cpu(), time.monotonic()
        for _ in range(times):
            self.ask(method, params)
        wall = time.monotonic() - began
        after = self.cpu()
        if before.keys() - after.keys():
            raise SystemExit(f"query_agent: a process ended during {method}: its time is not known")
        return (sum(after.values()) - sum(before.values())) / 1e3 / times, wall * 1e6 / times

    def memory(self):
        together = most = 0
        for pid in self.pids():
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as maps:
                together += sum(int(line.split()[1]) for line in maps if line.startswith("Pss:"))
            with open(f"/proc/{pid}/status", encoding="ascii") as status:
                most = max(most, *(int(line.split()[1]) for line in status if line.startswith("VmHWM:")))
        return {"together": together, "most": most}

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise SystemExit("query_agent: the agent failed")


def questions(dataset, root, walks):
    """Each method with its parameters."""
    names = sorted(os.listdir(root))
    first, last = f"{dataset}@{names[0]}", f"{dataset}@{names[-1]}"
    gone = walks.answer("find_deleted", {"dataset": dataset})["deleted"]
    gone = next(row["path"] for row in gone if row["type"] == "file")
    path = "src/d000/" + walks.answer("list_dir", {"snapshot": last, "path": "src/d000"})["entries"][0]["name"]
    rare = "probe probe probe"
    here = {"dataset": dataset, "path": path}
    pair = {"snap_a": first, "snap_b": last}
    return [
        ("list_dir", {"snapshot": last, "path": "src/d000"}),
        ("find_files", {"snapshot": last, "pattern": "f0001*.c"}),
        ("content_grep", {"snapshot": last, "pattern": rare, "max_results": 1000}),
        ("size_breakdown", {"snapshot": last, "path": ""}),
        ("top_consumers", {"snapshot": last, "path": ""}),
        ("file_history", here),
        ("snapshots_containing", here),
        ("versions_of", here),
        ("file_diff", {**pair, "path": path}),
        ("diff_snapshots", pair),
        ("find_deleted", {"dataset": dataset}),
        ("bisect_change", {"dataset": dataset, "path": gone, "predicate": {"kind": "exists"}}),
        ("grep_history", {"dataset": dataset, "pattern": rare, "max_results": 10000}),
    ]


def is_same(method, answer, walked):
    members = (answer.keys() | walked.keys()) - set(OWN.get(method, []))
    return all(answer.get(member) == walked.get(member) for member in members)


def main():
    dataset, root, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    agent = Agent(sys.argv[4:])
    walks = Agent([sys.executable, os.path.join(HERE, "query_walks.py"), dataset, root])
    agent.answer("agent_info", {})
    for method, params in questions(dataset, root, walks):
        same = is_same(method, agent.answer(method, params), walks.answer(method, params))
        times = max(1, round(TURN / walks.measure(method, params, 1)[0]))
        agent_cpu, walk_cpu, wall = [], [], []
        for _ in range(runs):
            cpu, waited = agent.measure(method, params, times)
            agent_cpu.append(cpu)
            wall.append(waited)
            walk_cpu.append(walks.measure(method, params, times)[0])
        print(json.dumps({
            "method": method,
            "agent": round(statistics.median(agent_cpu)),
            "walk": round(statistics.median(walk_cpu)),
            "wall": round(statistics.median(wall)),
            "same": same,
        }), flush=True)
    print(json.dumps(agent.memory()))
    agent.end()
    walks.end()


main()
