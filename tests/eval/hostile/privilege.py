#=== become_root: refused
must_fail(os.setuid, 0)
#=== become_root_all: refused
must_fail(os.setresuid, 0, 0, 0)
#=== become_group: refused
must_fail(os.setresgid, 0, 0, 0)
#=== set_groups: refused
must_fail(os.setgroups, [0])
#=== capabilities: refused
must_fail(raw, 126, b'\x22\x05\x08\x20\0\0\0\0', b'\xff' * 24)
#=== capability_read: refused
must_fail(raw, 125, b'\x22\x05\x08\x20\0\0\0\0', b'\0' * 24)
#=== new_user_namespace: refused
must_fail(raw, 272, 0x10000000)
#=== new_network_namespace: refused
must_fail(raw, 272, 0x40000000)
#=== new_mount_namespace: refused
must_fail(raw, 272, 0x00020000)
#=== new_pid_namespace: refused
must_fail(raw, 272, 0x20000000)
#=== clone_user_namespace: refused
must_fail(raw, 56, 0x10000011, 0, 0, 0, 0)
#=== clone3: refused
must_fail(raw, 435, b'\0' * 88, 88)
#=== join_namespace: refused
must_fail(raw, 308, 0, 0)
#=== mount: refused
must_fail(raw, 165, b'none', b'/tmp', b'tmpfs', 0, 0)
#=== remount_writable: refused
must_fail(raw, 165, b'none', b'/', 0, 32 | 4096, 0)
#=== unmount: refused
must_fail(raw, 166, b'/tmp', 2)
#=== pivot_root: refused
must_fail(raw, 155, b'/tmp', b'/tmp')
#=== open_tree: refused
must_fail(raw, 428, -100, b'/', 1)
#=== new_file_system: refused
must_fail(raw, 430, b'tmpfs', 0)
#=== move_mount: refused
must_fail(raw, 429, -100, b'/tmp', -100, b'/usr', 0)
#=== mount_attributes: refused
must_fail(raw, 442, -100, b'/', 0, b'\0' * 32, 32)
#=== trace_me: refused
must_fail(raw, 101, 0, 0, 0, 0)
#=== trace_first: refused
must_fail(raw, 101, 16, 1, 0, 0)
#=== read_memory: refused
must_fail(raw, 310, 1, 0, 0, 0, 0, 0)
#=== write_memory: refused
must_fail(raw, 311, 1, 0, 0, 0, 0, 0)
#=== compare_processes: refused
must_fail(raw, 312, 1, 2, 0, 0, 0)
#=== process_descriptor: refused
must_fail(raw, 434, 1, 0)
#=== steal_descriptor: refused
must_fail(raw, 438, 3, 1, 0)
#=== keys: refused
must_fail(raw, 248, b'user', b'name', b'data', 4, -3)
#=== key_control: refused
must_fail(raw, 250, 0, -3, 1)
#=== bpf: refused
must_fail(raw, 321, 0, b'\0' * 128, 128)
#=== performance_events: refused
must_fail(raw, 298, b'\0' * 128, 0, -1, -1, 0)
#=== io_uring: refused
must_fail(raw, 425, 8, b'\0' * 120)
#=== user_faults: refused
must_fail(raw, 323, 0)
#=== load_module: refused
must_fail(raw, 175, b'\0' * 64, 64, b'')
#=== load_module_file: refused
must_fail(raw, 313, 0, b'', 0)
#=== load_kernel: refused
must_fail(raw, 246, 0, 0, 0, 0)
#=== ports: refused
must_fail(raw, 172, 3)
#=== port_permissions: refused
must_fail(raw, 173, 0x80, 1, 1)
#=== segment_table: refused
must_fail(raw, 154, 0, b'\0' * 64, 64)
#=== personality: refused
must_fail(raw, 135, 0x0040000)
#=== quota: refused
must_fail(raw, 179, 0, 0, 0, 0)
#=== loosen_filter: refused
must_fail(raw, 317, 1, 0, b'\0' * 16)
#=== dumpable: refused
must_fail(raw, 157, 4, 1, 0, 0, 0)
#=== become_reaper: refused
must_fail(raw, 157, 36, 1, 0, 0, 0)
#=== outlive_parent: refused
must_fail(raw, 157, 1, 0, 0, 0, 0)
#=== raise_memory_limit: refused
import resource
must_fail(resource.setrlimit, resource.RLIMIT_AS, (-1, -1))
#=== raise_process_limit: refused
import resource
must_fail(resource.setrlimit, resource.RLIMIT_NPROC, (-1, -1))
#=== raise_cpu_limit: refused
import resource
must_fail(resource.setrlimit, resource.RLIMIT_CPU, (-1, -1))
#=== raise_core_limit: refused
import resource
must_fail(resource.setrlimit, resource.RLIMIT_CORE, (1 << 20, 1 << 20))
#=== x32_calls: refused
must_fail(raw, 0x40000000 | 41, 2, 1, 0)
#=== thirty_two_bit_calls: signalled
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')  # mov eax, 20; int 0x80; ret
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
print('ESCAPED', call(), flush=True)
#=== advise_others: refused
must_fail(raw, 440, 0, 0, 0, 0, 0)
#=== reap_memory_of_others: refused
must_fail(raw, 448, 0, 0)
#=== quota_by_descriptor: refused
must_fail(raw, 443, 0, 0, 0, 0)
#=== directory_cookie: refused
must_fail(raw, 212, 0, 0, 0)
#=== kernel_parameters: refused
must_fail(raw, 156, 0)
