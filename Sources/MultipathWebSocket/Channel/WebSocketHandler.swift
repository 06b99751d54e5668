#if HTTP
    import LinuxNet
    import Multipath
    import NIOCore
    import NIOWebSocket

    /// Runs a `WebSocketMachine` in a channel, behind SwiftNIO's frame decoder and encoder: performs its actions, keeps its
    /// timer, and holds what has come until it is received.
    ///
    /// Only the event loop touches it. Each call of a `WebSocket` ends by a promise of this class, at the latest when the
    /// channel is gone.
    final class WebSocketHandler: ChannelDuplexHandler {
        typealias InboundIn = WebSocketFrame
        typealias InboundOut = Never
        typealias OutboundIn = Never
        typealias OutboundOut = WebSocketFrame

        /// What a receiver gets: a piece, or a whole message as one, and the number of its message.
        typealias Received = (fragment: WebSocketFragment, message: Int)
        /// Tells the messages that are sent from each other.
        typealias Turn = Int

        private struct Receiver {
            var demand: IncomingQueue.Demand
            var ticket: LoopTicket
            var promise: EventLoopPromise<Received?>
        }

        private struct Waiting {
            var ticket: LoopTicket
            var promise: EventLoopPromise<Turn>
        }

        private let role: WebSocketMachine.Role
        private var machine: WebSocketMachine
        private var queue: IncomingQueue
        private var context: ChannelHandlerContext?
        private var timer: (deadline: MonotonicTime, task: Scheduled<Void>)?

        private var receiver: Receiver?
        private var pings: [WebSocketMachine.PingID: EventLoopPromise<Duration>] = [:]
        /// Whether a message is being sent, its number, and what waits to send the next one.
        private var isSending = false
        private var turn: Turn = 0
        private var waiting = CircularBuffer<Waiting>()
        /// How it ended, as soon as no more can come.
        private(set) var end: WebSocketEnd?
        /// Done when the closing handshake is, or the connection is gone.
        private let ended: EventLoopPromise<WebSocketEnd>
        /// Whether a read was asked for that waits for the receiver.
        private var isReadHeld = false
        private var lastError: (any Error)?
        private var lastReceived: MonotonicTime

        init(_ configuration: WebSocketMachine.Configuration, receiveBuffer: Int, on loop: any EventLoop) {
            role = configuration.role
            machine = WebSocketMachine(configuration)
            queue = IncomingQueue(highMark: receiveBuffer)
            ended = loop.makePromise()
            lastReceived = .now
        }

        deinit {
            // It was never added to a pipeline, if this comes to anything.
            ended.fail(WebSocketError.connectionLost("closed before it was open"))
        }

        /// Done when no more will come, nor can be sent.
        var endFuture: EventLoopFuture<WebSocketEnd> { ended.futureResult }

        var timeSinceReceived: Duration { lastReceived.duration(to: .now) }

        // MARK: The channel

        func handlerAdded(context: ChannelHandlerContext) {
            self.context = context
            _ = machine.writabilityChanged(context.channel.isWritable)
        }

        func handlerRemoved(context: ChannelHandlerContext) {
            perform(machine.connectionEnded(nil))
            finish(.failed(.connectionLost("its handler was taken from the pipeline")))
            timer?.task.cancel()
            self.context = nil
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            lastReceived = .now
            perform(machine.receive(unwrapInboundIn(data), at: lastReceived))
        }

        func channelReadComplete(context: ChannelHandlerContext) { context.flush() }

        /// The receiver's pace is the connection's. After the end everything is read, to be thrown away: the peer's end of the
        /// connection is behind it.
        func read(context: ChannelHandlerContext) {
            guard end != nil || queue.wantsMore(for: receiver?.demand) else {
                isReadHeld = true
                return
            }
            context.read()
        }

        func channelWritabilityChanged(context: ChannelHandlerContext) {
            perform(machine.writabilityChanged(context.channel.isWritable))
            context.flush()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if let error = error as? NIOWebSocketError {
                perform(machine.receive(WebSocketViolation(error), at: .now))
                context.flush()
                return
            }
            // The first one tells why; those that follow come of the closing.
            lastError = lastError ?? error
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            perform(machine.connectionEnded(lastError.map { "\($0)" }))
            context.fireChannelInactive()
        }

        // MARK: Receiving

        /// - Parameter promise: gets what is asked for; nil at an ordinary end, an error at another one.
        func receive(
            _ demand: IncomingQueue.Demand, _ ticket: LoopTicket, _ promise: EventLoopPromise<Received?>
        ) {
            guard !ticket.isCancelled else { return promise.fail(CancellationError()) }
            guard !queue.isOver(demand) else { return promise.succeed(nil) }
            guard receiver == nil else { return promise.fail(WebSocketError.alreadyReceiving) }
            receiver = Receiver(demand: demand, ticket: ticket, promise: promise)
            serve()
        }

        /// Gives the receiver what it waits for, if that is here.
        private func serve() {
            if let receiver {
                if let fragment = queue.take(receiver.demand) {
                    self.receiver = nil
                    receiver.promise.succeed((fragment, queue.current))
                } else if let end {
                    self.receiver = nil
                    if let error = end.receiverError {
                        receiver.promise.fail(error)
                    } else {
                        receiver.promise.succeed(nil)
                    }
                }
            }
            guard isReadHeld, end != nil || queue.wantsMore(for: receiver?.demand) else { return }
            isReadHeld = false
            context?.read()
        }

        // MARK: Sending

        /// - Parameter promise: succeeds when no other message is being sent. Its owner calls `endTurn` then.
        func awaitTurn(_ ticket: LoopTicket, _ promise: EventLoopPromise<Turn>) {
            guard !ticket.isCancelled else { return promise.fail(CancellationError()) }
            if let end { return promise.fail(end.senderError) }
            guard isSending else { return giveTurn(promise) }
            waiting.append(Waiting(ticket: ticket, promise: promise))
        }

        private func giveTurn(_ promise: EventLoopPromise<Turn>) {
            isSending = true
            turn += 1
            promise.succeed(turn)
        }

        /// - Parameter isWhole: whether the message was sent to its end.
        func endTurn(isWhole: Bool) {
            isSending = false
            if !isWhole {
                perform(machine.abandonMessage(at: .now))
                context?.flush()
            }
            if let next = waiting.popFirst() { giveTurn(next.promise) }
        }

        /// - Parameter promise: succeeds when the kernel has taken the bytes, so that a slow peer slows the sender.
        func send(
            _ bytes: ByteBuffer, of kind: WebSocketMessageKind, isLast: Bool, in turn: Turn,
            _ ticket: LoopTicket,
            _ promise: EventLoopPromise<Void>
        ) {
            guard !ticket.isCancelled else { return promise.fail(CancellationError()) }
            guard isSending, turn == self.turn else { return promise.fail(WebSocketError.messageCutShort) }
            if let end { return promise.fail(end.senderError) }
            do throws(WebSocketError) {
                ticket.sending = promise
                perform(try machine.send(bytes, of: kind, isLast: isLast), promise)
                context?.flush()
            } catch {
                promise.fail(error)
            }
        }

        func ping(_ ticket: LoopTicket, _ promise: EventLoopPromise<Duration>) {
            guard !ticket.isCancelled else { return promise.fail(CancellationError()) }
            if let end { return promise.fail(end.senderError) }
            do throws(WebSocketError) {
                let (id, actions) = try machine.ping(at: .now)
                pings[id] = promise
                ticket.ping = id
                perform(actions)
                context?.flush()
            } catch {
                promise.fail(error)
            }
        }

        // MARK: Ending

        /// - Parameter promise: done when the closing handshake is.
        func close(_ code: WebSocketCloseCode, _ reason: String, _ promise: EventLoopPromise<WebSocketEnd>) {
            do throws(WebSocketError) {
                perform(try machine.close(code, reason, at: .now))
                context?.flush()
                ended.futureResult.cascade(to: promise)
            } catch {
                promise.fail(error)
            }
        }

        /// The WebSocket has no owner any more. One that has ended is closed when the peer has heard why.
        func abandon() {
            if end == nil { context?.close(promise: nil) }
        }

        /// The task that waits with this ticket is cancelled.
        func cancel(_ ticket: LoopTicket) {
            ticket.isCancelled = true
            if let receiver, receiver.ticket === ticket {
                self.receiver = nil
                receiver.promise.fail(CancellationError())
            }
            if let index = waiting.firstIndex(where: { $0.ticket === ticket }) {
                waiting.remove(at: index).promise.fail(CancellationError())
            }
            // The frame stays on its way: only the waiting for it ends.
            ticket.sending?.fail(CancellationError())
            if let id = ticket.ping, let promise = pings.removeValue(forKey: id) {
                machine.forgetPing(id)
                promise.fail(CancellationError())
            }
        }

        private func finish(_ end: WebSocketEnd) {
            guard self.end == nil else { return }
            self.end = end
            ended.succeed(end)
            for promise in pings.values { promise.fail(end.senderError) }
            pings = [:]
            for waiting in waiting { waiting.promise.fail(end.senderError) }
            waiting.removeAll()
            serve()
        }

        // MARK: Actions

        /// - Parameter promise: for the frame among the actions.
        private func perform(_ actions: [WebSocketMachine.Action], _ promise: EventLoopPromise<Void>? = nil) {
            for action in actions {
                switch action {
                case .send(let frame): write(frame, promise)
                case .deliver(let fragment):
                    queue.append(fragment)
                    serve()
                case .answered(let id, let time): pings.removeValue(forKey: id)?.succeed(time)
                case .finish(let end): finish(end)
                case .closeOutput: closeOutput()
                case .closeConnection:
                    context?.flush()
                    context?.close(promise: nil)
                }
            }
            setTimer()
        }

        private func write(_ frame: WebSocketFrame, _ promise: EventLoopPromise<Void>?) {
            guard let context else {
                promise?.fail(ChannelError.ioOnClosedChannel)
                return
            }
            var frame = frame
            // A key of its own for each frame, which the peer's program can't foresee (section 5.3).
            if role == .client { frame.maskKey = .random() }
            context.write(wrapOutboundOut(frame), promise: promise)
        }

        private func closeOutput() {
            guard let context else { return }
            context.flush()
            context.close(mode: .output, promise: nil)
            // The peer's end is behind what it still sends.
            context.read()
        }

        private func setTimer() {
            guard timer?.deadline != machine.nextDeadline else { return }
            timer?.task.cancel()
            timer = nil
            guard let deadline = machine.nextDeadline, let context else { return }
            let delay = MonotonicTime.now.duration(to: deadline).wholeNanoseconds
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            let task = context.eventLoop.scheduleTask(in: .nanoseconds(max(delay, 0))) {
                bound.value.timeReached()
            }
            timer = (deadline, task)
        }

        private func timeReached() {
            timer = nil
            perform(machine.timeReached(.now))
        }
    }

    /// Ties a waiting task to what the handler keeps for it, so that the task's cancellation finds it. Only the event loop
    /// touches it.
    final class LoopTicket: @unchecked Sendable {
        var isCancelled = false
        var ping: WebSocketMachine.PingID?
        var sending: EventLoopPromise<Void>?
    }
#endif
