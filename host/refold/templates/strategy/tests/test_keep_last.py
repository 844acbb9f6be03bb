from refold.testing import StrategyConformance


class TestKeepLast(StrategyConformance):
    strategy = "keep-last"
    lossy = True  # the suite wants a notice for what left
