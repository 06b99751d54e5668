import Multipath
import NetworkLab

func runInLab() throws {
    // snippet
    var plan = LabPlan()
    plan.links = [LabPlan.Link("wlan0", .wifi), LabPlan.Link("wwan0", .cellular)]
    plan.seed = 7
    let status = try LabProcess.run(plan, command: ["mpconnect", "--report", "server:7"], options: .init())
    // end
    _ = status
}

func breakPath() throws {
    // snippet
    try LabControl.set("wlan0", "blackhole")
    // end
}
