#=== passwd: refused
must_fail(open, '/etc/passwd')
#=== shadow: refused
must_fail(open, '/etc/shadow')
#=== homes: refused
must_fail(os.listdir, '/home')
#=== root_home: refused
must_fail(os.listdir, '/root')
#=== var: refused
must_fail(os.listdir, '/var')
#=== sys: refused
must_fail(os.listdir, '/sys')
#=== dot_dot: refused
must_fail(open, '../../../../../../etc/hostname')
#=== nothing_but_an_interpreter: refused
beyond = set(os.listdir('/')) - {'usr', 'lib', 'lib64', 'dev', 'tmp'}
beyond |= set(os.listdir('/dev')) - {'null', 'urandom'}
beyond |= set(os.listdir('/usr')) - {'bin', 'lib', 'lib64', 'local'}
beyond |= {name for name in os.listdir('/usr/bin') if not name.startswith('python3')}
print('ESCAPED' if beyond else 'refused', beyond)
#=== symlink_out: refused
os.symlink('/etc/passwd', '/tmp/link')
must_fail(open, '/tmp/link')
#=== hard_link: refused
must_fail(os.link, os.path.realpath(sys.executable), '/tmp/python')
#=== write_root: refused
must_fail(open, '/counterbeam_marker', 'w')
#=== write_usr: refused
must_fail(open, '/usr/counterbeam_marker', 'w')
#=== write_library: refused
must_fail(open, os.path.dirname(os.__file__) + '/counterbeam_marker.py', 'w')
#=== change_library: refused
must_fail(open, os.__file__, 'r+')
#=== change_interpreter: refused
must_fail(open, os.path.realpath(sys.executable), 'r+b')
#=== unlink_interpreter: refused
must_fail(os.unlink, os.path.realpath(sys.executable))
#=== chmod_library: refused
must_fail(os.chmod, os.__file__, 0o777)
#=== chmod_null: refused
must_fail(os.chmod, '/dev/null', 0)
#=== unlink_null: refused
must_fail(os.unlink, '/dev/null')
#=== rename_lib: refused
must_fail(os.rename, '/lib', '/gone')
#=== replace_lib_link: refused
must_fail(os.unlink, '/lib')
#=== device_node: refused
must_fail(os.mknod, '/tmp/disk', 0o60666, os.makedev(8, 0))
#=== disks: refused
for name in ('sda', 'vda', 'nvme0n1', 'mem', 'kmsg', 'kvm', 'fuse', 'tty', 'ptmx', 'shm/x', 'nvidia0'):
    must_fail(open, '/dev/' + name, 'r+b')
#=== chroot: refused
must_fail(os.chroot, '/tmp')
#=== set_user_id_file: refused
open('/tmp/tool', 'w').close()
os.chmod('/tmp/tool', 0o4755)
must_fail(os.chown, '/tmp/tool', 0, 0)
#=== open_by_handle: refused
must_fail(raw, 304, -100, b'\0' * 128, 0)
#=== name_to_handle: refused
must_fail(raw, 303, -100, b'/', b'\0' * 128, b'\0' * 8, 0)
#=== extended_attributes: refused
open('/tmp/file', 'w').close()
must_fail(os.setxattr, '/tmp/file', 'user.x', b'1')
#=== inherited_descriptors: refused
held = []
for number in range(3, 64):
    try:
        os.fstat(number)
        held.append(number)
    except OSError:
        pass
print('ESCAPED' if held else 'refused', held)
#=== write_to_every_descriptor: refused
for number in range(3, 64):
    must_fail(os.write, number, b'pass\n')
#=== too_many_files: refused
must_fail(lambda: [open('/tmp/%d' % i, 'w') for i in range(1000)])
#=== watch_files: refused
must_fail(raw, 294, 0)
#=== watch_folders: refused
import fcntl
must_fail(fcntl.fcntl, os.open('/usr/lib', os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS)
#=== fanotify: refused
must_fail(raw, 300, 0, 0)
#=== escape_by_descriptor: refused
root = os.open('/', os.O_RDONLY)
must_fail(lambda: os.open('../../etc/passwd', os.O_RDONLY, dir_fd=root))
