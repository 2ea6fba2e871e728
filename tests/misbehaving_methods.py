"""A file of methods: a good one, and others that fail in every way we could think of."""

from __future__ import annotations

PLUGINS = """
import os, signal, sys, time
import numpy as np
from tsbench.learn.method import Kept, Method

class Good(Method):
    def learn(self, task):
        print("this is no data")
        self.seen = max(task.labels) + 1
    def predict(self, x):
        return np.zeros((len(x), self.seen)) + np.arange(self.seen)
    def kept(self):
        return Kept()

class Raises(Good):
    def learn(self, task):
        raise RuntimeError("no such luck")

class Killed(Good):
    def learn(self, task):
        os.kill(os.getpid(), signal.SIGKILL)

class Exits(Good):
    def learn(self, task):
        os._exit(3)

class Hangs(Good):
    def learn(self, task):
        time.sleep(600)

class WrongShape(Good):
    def predict(self, x):
        return np.zeros((len(x), 99))

class NanScores(Good):
    def predict(self, x):
        return super().predict(x) * np.nan

class Words(Good):
    def predict(self, x):
        return super().predict(x).astype(str)

class Hoards(Good):
    def kept(self):
        return Kept(raw=10**9)

class Untold(Good):
    def kept(self):
        return None

class Lingers(Good):
    def learn(self, task):
        import threading
        threading.Thread(target=time.sleep, args=(60,)).start()
        super().learn(task)

class Forks(Good):
    def learn(self, task):
        if os.fork() == 0:
            time.sleep(8)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)

class BadSettings(Good):
    class Settings:
        pass

class NoVerb(Method):
    def learn(self, task):
        pass

class NoMethod:
    pass
"""
