/// The version all of this project's commands print.
public let projectVersion = "0.1.0"
