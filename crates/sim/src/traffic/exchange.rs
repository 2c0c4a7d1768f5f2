//! Clients that think, ask, and wait for the answer. Requests go over one connection, responses
//! over another that carries data the other way; both stay open.

use cclab_spec::Sizes;
use cclab_trace::schema::Transfer;
use cclab_units::{Stream, Time};

use super::draw;

/// A source of requests and responses.
pub struct Exchange {
    pub source: u32,
    /// Mean time before a request.
    pub think: Time,
    /// Whether that time is always the same.
    pub constant: bool,
    /// Bytes of a request.
    pub request: u64,
    pub responses: Sizes,
    pub stop: Time,
    pub dice: Stream,
    pub clients: Vec<Client>,
}

/// A client and its server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Client {
    /// Slot of the connection that carries requests.
    pub requests: u32,
    /// Slot of the connection that carries responses.
    pub responses: u32,
    /// Bytes asked with, and answered with, up to now.
    asked: u64,
    answered: u64,
    /// The exchange that goes on, with its beginning; the size is known when it is answered.
    current: Option<(Time, Transfer)>,
    /// Segments sent again until it began.
    resent: u64,
}

impl Client {
    /// A client with its connections.
    pub fn of(requests: u32, responses: u32) -> Client {
        Client {
            requests,
            responses,
            ..Client::default()
        }
    }
}

impl Exchange {
    /// When a client that has begun to think asks.
    pub fn next(&mut self, now: Time) -> Time {
        let think = match self.constant {
            true => self.think,
            false => self.dice.exponential(self.think),
        };
        match now + think {
            time if time < self.stop => time,
            _ => Time::NEVER,
        }
    }

    /// `client` asks at `now`: the connection and the offset up to which it writes.
    pub fn ask(&mut self, now: Time, client: u32) -> Option<(u32, u64)> {
        let source = self.source;
        let client = self.clients.get_mut(client as usize)?;
        client.asked += self.request;
        let transfer = Transfer {
            source,
            ..Transfer::default()
        };
        client.current = Some((now, transfer));
        Some((client.requests, client.asked))
    }

    /// The server of `client` has `received` bytes: the connection and the offset up to which it
    /// answers, if that is a request.
    pub fn answer(&mut self, client: u32, received: u64) -> Option<(u32, u64)> {
        let client = self.clients.get_mut(client as usize)?;
        let (_, transfer) = client.current.as_mut()?;
        if received < client.asked || transfer.size > 0 {
            return None;
        }
        transfer.size = draw::size(&mut self.dice, &self.responses);
        client.answered += transfer.size;
        Some((client.responses, client.answered))
    }

    /// `client` has `received` bytes of responses, of which segments were sent again `resent`
    /// times; the exchange, if it is over.
    pub fn receive(
        &mut self,
        now: Time,
        client: u32,
        received: u64,
        resent: u64,
    ) -> Option<(Time, Transfer)> {
        let client = self.clients.get_mut(client as usize)?;
        let (_, transfer) = client.current.as_mut()?;
        transfer.first_byte.get_or_insert(now);
        if transfer.size == 0 || received < client.answered {
            return None;
        }
        transfer.end = Some(now);
        transfer.retransmits = resent - client.resent;
        client.resent = resent;
        client.current.take()
    }

    /// Exchanges that go on.
    pub fn waiting(&self) -> impl Iterator<Item = (Time, Transfer)> + '_ {
        self.clients.iter().filter_map(|client| client.current)
    }
}
