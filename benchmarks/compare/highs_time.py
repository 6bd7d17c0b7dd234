"""Measures CPU time of HiGHS within scipy, without scipy's work before and after it: for compare_*.py."""
import contextlib
import time

import scipy.optimize._linprog_highs as inner


@contextlib.contextmanager
def timed_highs():
    """Yields a list that receives the CPU seconds of each call of HiGHS within the block."""
    original, seconds = inner._highs_wrapper, []

    def timed(*args, **kwargs):
        start = time.process_time()
        result = original(*args, **kwargs)
        seconds.append(time.process_time() - start)
        return result
    inner._highs_wrapper = timed
    try:
        yield seconds
    finally:
        inner._highs_wrapper = original
