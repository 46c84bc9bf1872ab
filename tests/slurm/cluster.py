"""A real Slurm cluster on this machine: munged, slurmctld and several slurmd under one folder, on ports of 127.0.0.1.

No system service is used and nothing is left: stop() ends the daemons and the jobs' processes, and removes the folder."""
import atexit
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get('COUNTERBEAM', str(ROOT / 'build/release/counterbeam'))
PATH = '/usr/sbin:/sbin:' + os.environ['PATH']

CONFIG = """ClusterName=counterbeam
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool-%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=100000,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
KillWait=5
MessageTimeout=60
SlurmdTimeout=300
MinJobAge=900
{nodes}
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 State=UP
PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=10 State=UP
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(('127.0.0.1', 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Cluster:
    """`nodes` nodes of one processor each, with the partitions batch and urgent; jobs of urgent preempt those of batch."""

    def __init__(self, nodes=2):
        self.place = ROOT / 'build/slurm'
        shutil.rmtree(self.place, ignore_errors=True)
        (self.place / 'state').mkdir(parents=True)
        self.daemons = []
        self.environment = {**os.environ, 'PATH': PATH, 'SLURM_CONF': str(self.place / 'slurm.conf')}
        atexit.register(self.stop)
        self.write_config(nodes)
        self.start_munge()
        self.start('slurmctld', '-D', '-f', str(self.place / 'slurm.conf'))
        for node in range(nodes):
            self.start('slurmd', '-D', '-N', f'node{node}', '-f', str(self.place / 'slurm.conf'))
        self.until('the nodes are idle', lambda: self.run('sinfo', '-h', '-N', '-p', 'batch', '-o', '%t').split() == ['idle'] * nodes, 60)

    def write_config(self, nodes):
        port, *ports = free_ports(nodes + 1)
        host = socket.gethostname().split('.')[0]
        lines = []
        for node in range(nodes):
            (self.place / f'spool-node{node}').mkdir()
            lines.append(f'NodeName=node{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[node]} CPUs=1 RealMemory=500 State=UNKNOWN')
        (self.place / 'slurm.conf').write_text(
            CONFIG.format(host=host, port=port, user=getpass.getuser(), place=self.place, nodes='\n'.join(lines)))
        (self.place / 'cgroup.conf').write_text('CgroupPlugin=cgroup/v1\n')

    def start_munge(self):
        key = self.place / 'munge.key'
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.start('munged', '--foreground', '--force', f'--key-file={key}', f'--socket={self.place}/munge.socket', '--num-threads=2',
                   f'--pid-file={self.place}/munge.pid', f'--log-file={self.place}/munge.log', f'--seed-file={self.place}/munge.seed')
        self.until('munged listens', (self.place / 'munge.socket').exists, 20)

    def start(self, name, *arguments):
        with open(self.place / f'{name}-{len(self.daemons)}.out', 'wb') as log:
            self.daemons.append(subprocess.Popen([name, *arguments], env=self.environment, stdout=log, stderr=log, start_new_session=True))

    def until(self, what, condition, seconds):
        end = time.time() + seconds
        while not condition():
            dead = [each.args[0] for each in self.daemons if each.poll() is not None]
            if dead or time.time() > end:
                raise AssertionError(f'{"ended: " + ", ".join(dead) if dead else "in vain for " + str(seconds) + " s"}: {what}\n{self.logs()}')
            time.sleep(0.1)

    def logs(self):
        return '\n'.join(f'-- {path.name}\n{path.read_text(errors="replace")[-1500:]}' for path in sorted(self.place.glob('*.log'))
                         if path.name != 'munge.log') + self.run('squeue', check=False)

    def run(self, *command, check=True, cwd=ROOT):
        done = subprocess.run(command, env=self.environment, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        if check and done.returncode:
            raise AssertionError(f'{" ".join(map(str, command))}: exit {done.returncode}\n{done.stdout}')
        return done.stdout

    def job(self, job):
        """What scontrol says of a job or an array task, as a dict."""
        return dict(word.split('=', 1) for word in self.run('scontrol', 'show', 'job', '-o', job).split() if '=' in word)

    def ended(self, job):
        return self.job(job)['JobState'] in ('COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT', 'NODE_FAIL')

    def stop(self):
        atexit.unregister(self.stop)
        if self.daemons:
            self.run('scancel', '--user', getpass.getuser(), check=False)
            time.sleep(0.5)
        for daemon in reversed(self.daemons):
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(15)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.end_leftovers()
        shutil.rmtree(self.place, ignore_errors=True)

    def end_leftovers(self):
        """Ends processes of this cluster that outlived their daemon: those whose environment names our configuration."""
        mark = f'SLURM_CONF={self.place / "slurm.conf"}'.encode()
        for entry in Path('/proc').iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                if mark in (entry / 'environ').read_bytes().split(b'\0'):
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                pass
