import CLinux

/// What this process may.
package enum ProcessPrivileges {
    /// Whether the program was started with more rights than its user has, by a set-user-ID bit or its file's
    /// capabilities (AT_SECURE, getauxval(3)). Its user can then run it to have those rights used, stop it and kill it.
    package static var areMoreThanTheUsers: Bool { mp_is_elevated() != 0 }
}
