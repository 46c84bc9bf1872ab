"""One model over two nodes of vLLM, both on this machine: nothing changes for the client."""
import unittest

from scores import TOLERANCE, Candidates
from served import Process, Server, free_port, run, stop_servers


class NodesTest(unittest.TestCase):
    def test_two_nodes_give_the_same_log_probs(self):
        stop_servers()  # memory for the two
        shared = ['--tensor-parallel-size', 2, '--nnodes', 2, '--master-addr', '127.0.0.1', '--master-port', free_port(), '--enable-scale-out',
                  '--enable-prompt-tokens-details']
        head = Server(*shared, '--node-rank', 0)
        self.addCleanup(head.kill)
        other = Process(*shared, '--node-rank', 1, '--headless')  # outlives its head, so it is ended here
        self.addCleanup(other.kill)
        try:
            head.wait()
        except AssertionError as error:
            raise AssertionError(f'{error}\nthe other node:\n{other.said()[-3000:]}')
        candidates = Candidates()
        worst = candidates.worst(candidates.scored(head.url))
        print(f'\ntwo nodes: largest difference {worst:.1e}', flush=True)
        self.assertLess(worst, TOLERANCE)
        self.assertIn('answer', run('ask', 'Compute 12 + 3 * 7.', '--method', 'cbs', '--beams', 4, '--prune', 2, '--json', engine=head.url))


if __name__ == '__main__':
    unittest.main(verbosity=2)
