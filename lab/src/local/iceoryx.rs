//! The peer iceoryx2: its blackboard, its publish-subscribe, and its event that wakes a subscriber.

use std::time::Duration;

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::reader::{BlackboardValue, EntryHandle};
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::port::writer::EntryHandleMut;
use iceoryx2::prelude::*;

use super::message::{MESSAGE_BYTES, Message};
use super::{Inlet, LocalError, Outlet};

type Payload = [u8; MESSAGE_BYTES];

const NAME: &str = "iceoryx2";
/// Buffer size in messages, equal to the default capacity of our queue.
const BUFFER: usize = 1024;

fn failed(error: impl core::fmt::Debug) -> LocalError {
    LocalError::carrier(NAME, format!("{error:?}"))
}

fn node() -> Result<Node<ipc::Service>, LocalError> {
    // Without this level, iceoryx2 would log every service that another process has already created.
    set_log_level(LogLevel::Fatal);
    NodeBuilder::new()
        .signal_handling_mode(SignalHandlingMode::Disabled)
        .create::<ipc::Service>()
        .map_err(failed)
}

fn service_name(name: &str) -> Result<ServiceName, LocalError> {
    name.try_into().map_err(failed)
}

/// The writing end of the blackboard. The node is stored, because the blackboard ends with its node.
pub(super) struct BlackboardOut {
    entry: EntryHandleMut<ipc::Service, u64, Payload>,
    _node: Node<ipc::Service>,
}

impl BlackboardOut {
    pub(super) fn new(name: &str) -> Result<BlackboardOut, LocalError> {
        let node = node()?;
        let creator = node.service_builder(&service_name(name)?).blackboard_creator::<u64>();
        let service = creator.add::<Payload>(1, [0; MESSAGE_BYTES]).create().map_err(failed)?;
        let writer = service.writer_builder().create().map_err(failed)?;
        Ok(BlackboardOut { entry: writer.entry::<Payload>(&1).map_err(failed)?, _node: node })
    }
}

impl Outlet for BlackboardOut {
    #[inline]
    fn send(&mut self, message: &Message) -> Result<(), LocalError> {
        self.entry.update_with_copy(message.0);
        Ok(())
    }
}

/// The reading end of the blackboard.
pub(super) struct BlackboardIn {
    entry: EntryHandle<ipc::Service, u64, Payload>,
    seen: BlackboardValue<Payload>,
    _node: Node<ipc::Service>,
}

impl BlackboardIn {
    pub(super) fn new(name: &str) -> Result<BlackboardIn, LocalError> {
        let node = node()?;
        let opener = node.service_builder(&service_name(name)?).blackboard_opener::<u64>();
        let service = opener.open().map_err(failed)?;
        let reader = service.reader_builder().create().map_err(failed)?;
        let entry = reader.entry::<Payload>(&1).map_err(failed)?;
        Ok(BlackboardIn { seen: entry.get(), entry, _node: node })
    }
}

impl Inlet for BlackboardIn {
    #[inline]
    fn try_receive(&mut self) -> Result<Option<Message>, LocalError> {
        if self.entry.is_up_to_date(&self.seen) {
            return Ok(None);
        }
        let before = Message(*self.seen).number();
        self.seen = self.entry.get();
        let message = Message(*self.seen);
        Ok((message.number() != before).then_some(message))
    }
}

/// The publishing end. It sends an event after each message if the subscriber sleeps.
pub(super) struct PublishOut {
    publisher: Publisher<ipc::Service, Payload, ()>,
    notifier: Option<Notifier<ipc::Service>>,
    _node: Node<ipc::Service>,
}

/// The effect of a full buffer on the publisher.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum WhenFull {
    /// The oldest message is lost.
    Overflow,
    /// The publisher waits.
    Wait,
}

impl PublishOut {
    pub(super) fn new(name: &str, full: WhenFull, wakes: bool) -> Result<PublishOut, LocalError> {
        let node = node()?;
        let buffer = if full == WhenFull::Overflow { 1 } else { BUFFER };
        let service = node
            .service_builder(&service_name(name)?)
            .publish_subscribe::<Payload>()
            .enable_safe_overflow(full == WhenFull::Overflow)
            .subscriber_max_buffer_size(buffer)
            .history_size(0)
            .create()
            .map_err(failed)?;
        let publisher = service
            .publisher_builder()
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .create()
            .map_err(failed)?;
        let notifier =
            if wakes { Some(event(&node, name)?.notifier_builder().create().map_err(failed)?) } else { None };
        Ok(PublishOut { publisher, notifier, _node: node })
    }
}

type EventFactory = iceoryx2::service::port_factory::event::PortFactory<ipc::Service>;

fn event(node: &Node<ipc::Service>, name: &str) -> Result<EventFactory, LocalError> {
    node.service_builder(&service_name(&format!("{name}-event"))?).event().open_or_create().map_err(failed)
}

impl Outlet for PublishOut {
    #[inline]
    fn send(&mut self, message: &Message) -> Result<(), LocalError> {
        let sample = self.publisher.loan_uninit().map_err(failed)?;
        sample.write_payload(message.0).send().map_err(failed)?;
        if let Some(notifier) = &self.notifier {
            notifier.notify().map_err(failed)?;
        }
        Ok(())
    }
}

/// The subscribing end.
pub(super) struct SubscribeIn {
    subscriber: Subscriber<ipc::Service, Payload, ()>,
    listener: Option<Listener<ipc::Service>>,
    _node: Node<ipc::Service>,
}

impl SubscribeIn {
    pub(super) fn new(name: &str, wakes: bool) -> Result<SubscribeIn, LocalError> {
        let node = node()?;
        let opener = node.service_builder(&service_name(name)?).publish_subscribe::<Payload>();
        let service = opener.open().map_err(failed)?;
        let subscriber = service.subscriber_builder().create().map_err(failed)?;
        let listener =
            if wakes { Some(event(&node, name)?.listener_builder().create().map_err(failed)?) } else { None };
        Ok(SubscribeIn { subscriber, listener, _node: node })
    }
}

impl Inlet for SubscribeIn {
    #[inline]
    fn try_receive(&mut self) -> Result<Option<Message>, LocalError> {
        Ok(self.subscriber.receive().map_err(failed)?.map(|sample| Message(*sample)))
    }

    fn receive(&mut self) -> Result<Option<Message>, LocalError> {
        let Some(listener) = &self.listener else { return self.try_receive() };
        if let Some(sample) = self.subscriber.receive().map_err(failed)? {
            return Ok(Some(Message(*sample)));
        }
        listener.timed_wait(|_| {}, Duration::from_millis(100)).map_err(failed)?;
        self.try_receive()
    }
}
